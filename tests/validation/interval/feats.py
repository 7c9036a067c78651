"""Runs every experiment of a folder once with --json and with --out's ops, writes one line of features."""
import json, subprocess, sys, os, csv, shutil
env = dict(os.environ, TRAINYARD_DATA="SOURCE")
TY = "trainyard"
def features(args):
    out = f"./out_tmp{os.getpid()}"
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run(["nice", "-n", "12", TY, "run", *args, "--out", out, "--no-page", "--force", "--no-usage"], capture_output=True, text=True, env=env)
    try:
        d = json.load(open(out + "/summary.json"))
    except Exception:
        return {"fail": p.stderr[-300:]}
    n = 0; tot = 0.0; short = 0
    host = {5: 0, 10: 0, 20: 0, 40: 0}   # time if each op takes at least so many microseconds
    for r in csv.DictReader(open(out + "/ops.csv")):
        if r["rank"] != "0": continue
        t = float(r["duration_s"]); n += 1; tot += t
        for k in host: host[k] += max(t, k * 1e-6)
    c = d.get("comparable_by"); e = d.get("expected_error") or {}
    s = d.get("compute_source_shares") or {}
    return dict(platform=d.get("platform"), model=d.get("model"), stack=d.get("stack"), precision=d.get("precision"), optimizer=d.get("optimizer"), batch=d.get("batch_per_gpu"),
        accum=d.get("accumulation"), ranks=d.get("ranks"), nodes=d.get("nodes"), step=d.get("step_time_s"), rate=d.get("throughput_samples_per_s"), compute=d.get("compute_time_s"), comm=d.get("communication_time_s"),
        exposed=d.get("exposed_communication_s"), n_ops=n, op_total=tot, **{f"floor{k}": v for k, v in host.items()},
        **{"part_" + k: v for k, v in (d.get("step_parts_s") or {}).items()},
        mfu=d.get("model_flops_utilization"), flops=d.get("model_flops"), src_measured=s.get("measured"), src_fitted=s.get("fitted"), src_roofline=s.get("roofline"),
        low=e.get("low"), high=e.get("high"), fit=(c or {}).get("fit"), framework=(c or {}).get("framework"), generation=(c or {}).get("generation"), gpu=(c or {}).get("gpu"), model_key=(c or {}).get("model"), precision_key=(c or {}).get("precision"), fail="")
if __name__ == "__main__":
    rows = []
    folder = sys.argv[1]
    for f in sorted(os.listdir(folder)):
        x = features([os.path.join(folder, f)]); x["row"] = f[:-5]
        rows.append(x)
        if len(rows) % 100 == 0: print(len(rows), flush=True)
    import pandas as pd
    pd.DataFrame(rows).to_csv(sys.argv[2], index=False)
