topology dlperf
