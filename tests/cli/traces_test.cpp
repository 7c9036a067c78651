// Experiments with a trace for each class of ranks, as users run and check them.

#include "process.hpp"

using namespace trainyard;

TEST_CASE("check and run name the lines of traces in which ranks would wait for ever") {
  const Scratch scratch;
  const std::string header = "phase,layer,duration_s,communication,communication_bytes,peer\n";
  for (const auto& [name, peer] : {std::pair("a.csv", "+1"), std::pair("b.csv", "-1")}) {
    (void)scratch.put(
        name, header + "forward,f,0.01,recv,1000," + peer + "\nforward,g,0.01,send,1000," + peer + "\n");
  }
  const std::string job = scratch.put("job.yaml",
                                      "platform: dgx2\ngpus: 2\nstack: pytorch_ddp\nbatch_per_gpu: 1\n"
                                      "traces: [{trace: a.csv, ranks: 0}, {trace: b.csv, ranks: 1}]\n");
  for (const char* command : {"check", "run"}) {
    const Ended ended = run_program({command, job});
    CAPTURE(ended.err);
    CHECK(ended.code == 3);
    CHECK(ended.err.find("a.csv:2:1: error: rank 0 waits here for ever") != std::string::npos);
    CHECK(ended.err.find("b.csv:2:1: error: rank 1 waits here for ever") != std::string::npos);
  }
  (void)scratch.put("b.csv", header + "forward,g,0.01,send,1000,-1\nforward,f,0.01,recv,1000,-1\n");
  CHECK(run_program({"check", job}).code == 0);
  CHECK(run_program({"run", job, "--json"}).code == 0);
  const Ended exported = run_program({"trace", job, "-o", scratch / "out.csv"});
  CHECK(exported.code == 3);
}
