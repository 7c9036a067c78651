"""Features of the 179 steps (tests/validation/gpu, settings of compare.py) and of data/gpu_steps (mapping below)."""
import sys, pathlib, csv, json
import pandas as pd
sys.path.insert(0, "SOURCE/tests/validation/gpu"); sys.dont_write_bytecode = True
import compare, feats
from plan import FAMILIES
def measured_179():
    for gpu in ("h100", "h200"):
        for run, cells in compare.measured(pathlib.Path(f"SOURCE/tests/validation/gpu/{gpu}_steps.csv")):
            args = [compare.EXPERIMENT, *compare.settings(run, f"{gpu}_measured", "published"), "--set", "memory=ignore"]
            yield f"{gpu}: {run.title}", args, float(cells["step_time_s"]), float(cells["host_time_s"])
FAM = dict(gpt2_small="gpt2", gpt2_medium="gpt2", llama3_8b="decoder", llama2_7b="decoder", llama32_1b="decoder", qwen3_06b="decoder", bert_base="bert", bert_large="bert", resnet50="resnet", resnet101="resnet", vit_b_16="vit", vit_l_16="vit", t5_base="encoder_decoder")
PREC = dict(amp_bf16="amp_bf16", amp_fp16="amp", bf16="pure_bf16", tf32="tf32", fp32="fp32")
def gpu_steps():
    for r in csv.DictReader(open("DATA/gpu_steps/steps.csv")):
        m = r["model"]; fam = FAM.get(m); k = {}
        k["model"] = {"qwen3_06b": "llama3_8b", "llama32_1b": "llama3_8b"}.get(m, m)
        if m == "qwen3_06b":
            k |= {f"model.decoder.{a}": b for a, b in dict(layers=28, hidden=1024, heads=16, kv_heads=8, head_dim=128, ffn=3072, vocabulary=151936, tied="true").items()}
        if m == "llama32_1b":
            k |= {f"model.decoder.{a}": b for a, b in dict(layers=16, hidden=2048, heads=32, kv_heads=8, ffn=8192, vocabulary=128256, tied="true").items()}
        if r["layers"]: k["model.decoder.layers"] = r["layers"]
        k["batch_per_gpu"] = r["batch"]; k["accumulation"] = r["accum"]; k["precision"] = PREC[r["prec"]]
        k["stack.layout"] = "nhwc" if r["fmt"] == "channels_last" else "nchw"
        k["optimizer"] = "momentum" if fam is None or fam in ("resnet",) else "adam"
        if r["seq"] and fam != "encoder_decoder": k[f"model.{fam}.sequence_length"] = r["seq"]
        if fam == "bert": k[f"model.bert.predictions.{r['seq']}"] = 20 if r["seq"] == "128" else 80
        if fam in ("gpt2", "decoder", "vit"): k[f"model.{fam}.attention"] = "flash" if r["attn"] == "sdpa" else "unfused"
        if r["mode"] == "compile": k["stack.fused_elementwise"] = "true"
        if r["ckpt"] == "True": k["parallelism.recompute"] = "full"
        k["memory"] = "ignore"; k["gpus"] = 1; k["nodes"] = 1
        args = ["--model", k.pop("model"), "--platform", "dgx_h100", *[w for a, b in k.items() for w in ("--set", f"{a}={b}")]]
        yield r["id"], args, float(r["step_time_s"]), float(r["host_time_s"])
if __name__ == "__main__":
    rows = []
    for what, it in (("steps179", measured_179()), ("gpu_steps", gpu_steps())):
        for title, args, t, h in it:
            x = feats.features(args); x.update(row=title, set=what, args=" ".join(args), measured_step=t, measured_host=h); rows.append(x)
            if x.get("fail"): print(title, x["fail"], flush=True)
    pd.DataFrame(rows).to_csv("feats_targets.csv", index=False)
