-- An export of Nsight Systems, as nsys export --type sqlite --include-json true writes one: three steps of a layer
-- with a ReLU on one GPU of two, 3 ms each, with the columns that importers read. Times in ns.
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0');
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES
  (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cuLaunchKernelEx'),
  (4, 'ampere_sgemm_128x64_tn'), (5, 'ampere_sgemm_128x64_nt'),
  (6, 'void at::native::vectorized_elementwise_kernel<(int)4, relu>(int)'),
  (7, 'void at::native::vectorized_elementwise_kernel<(int)4, threshold>(int)'),
  (8, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)'),
  (9, 'void at::native::multi_tensor_apply_kernel<add>(int)'), (10, 'ncclAllReduce');
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, cuDevice INTEGER,
  computeMajor INTEGER, computeMinor INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-40GB', 42297524224, 108, 0, 8, 0);
CREATE TABLE step (number INTEGER, at INTEGER);
INSERT INTO step VALUES (3, 1000000), (4, 4000000), (5, 7000000);
CREATE TABLE thread (name TEXT, id INTEGER);  -- process 143, threads 9 and 10
INSERT INTO thread VALUES ('main', (143 << 24) | 9), ('autograd', (143 << 24) | 10);

CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonText TEXT);
CREATE TABLE range (start INTEGER, end INTEGER, thread TEXT, text TEXT);  -- of each step
INSERT INTO range VALUES
  (100000, 200000, 'main',
   'aten::linear, seq = 1, op_id = 1, sizes = [[512, 4096], [4096, 4096], [4096]], input_op_ids = [(0,0)]'),
  (210000, 250000, 'main', 'aten::relu, seq = 2, op_id = 2, sizes = [[512, 4096]]'),
  (300000, 340000, 'autograd', 'autograd::engine::evaluate_function: ReluBackward0, seq = 2, op_id = 3'),
  (305000, 335000, 'autograd', 'aten::threshold_backward, op_id = 4, sizes = [[512, 4096], [512, 4096], []]'),
  (350000, 420000, 'autograd', 'autograd::engine::evaluate_function: AddmmBackward0, seq = 1, op_id = 5'),
  (360000, 400000, 'autograd', 'aten::mm, op_id = 6, sizes = [[4096, 512], [512, 4096]]'),
  (430000, 435000, 'autograd', 'torch::autograd::AccumulateGrad, op_id = 7, sizes = [[4096, 4096]]'),
  (440000, 445000, 'autograd', 'torch::autograd::AccumulateGrad, op_id = 8, sizes = [[4096]]'),
  (600000, 700000, 'main', 'Optimizer.step#SGD.step, op_id = 9'),
  (610000, 690000, 'main', 'aten::_foreach_add_, op_id = 10');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid)
  SELECT at, at + 2900000, 59, 'step ' || number, (SELECT id FROM thread WHERE name = 'main') FROM step;
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid)
  SELECT at + start, at + end, 59, text, thread.id FROM step, range JOIN thread ON thread.name = range.thread;
INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid, domainId, jsonText)
  SELECT at + 450000, at + 480000, 59, 10, (SELECT id FROM thread WHERE name = 'autograd'), 1,
         '{"NCCL communicator ID": 77, "Message size [bytes]": 67125248, "Reduction operation": "Sum"}' FROM step;

CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER NOT NULL);
CREATE TABLE work (number INTEGER, thread TEXT, call INTEGER, launched INTEGER, kernel INTEGER, stream INTEGER,
  start INTEGER, end INTEGER);  -- of each step
INSERT INTO work VALUES
  (0, 'main', 2, 20000, NULL, 7, 50000, 150000),
  (1, 'main', 1, 150000, 4, 7, 200000, 700000),
  (2, 'main', 1, 220000, 6, 7, 700000, 720000),
  (3, 'autograd', 1, 310000, 7, 7, 720000, 745000),
  (4, 'autograd', 1, 370000, 5, 7, 745000, 1245000),
  (5, 'autograd', 3, 460000, 8, 20, 1250000, 1650000),
  (6, 'main', 1, 620000, 9, 7, 1650000, 1700000);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
  SELECT at + launched, at + launched + 5000, thread.id, 100 * step.number + work.number, call
  FROM step, work JOIN thread ON thread.name = work.thread;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
  SELECT at + start, at + end, 0, stream, 100 * step.number + work.number, 143 << 24, kernel
  FROM step, work WHERE kernel IS NOT NULL;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY
  SELECT at + start, at + end, 0, stream, 100 * step.number + work.number, 143 << 24, 1
  FROM step, work WHERE kernel IS NULL;
DROP TABLE work;
DROP TABLE range;
DROP TABLE thread;
DROP TABLE step;
