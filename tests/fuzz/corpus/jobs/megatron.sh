#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:h100:8,nvme:1
TP=2; N=$((TP * 4))
ARGS=(--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --swiglu
  --seq-length 4096 --vocab-size ${V:-32000} --micro-batch-size 1)
cat <<EOT > ds.json
{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}
EOT
srun torchrun --nproc_per_node $N pretrain_gpt.py "${ARGS[@]}" --deepspeed ds.json --bf16 --tensor-model-parallel-size $TP
