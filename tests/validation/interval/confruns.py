import logo, feats, json, os, subprocess, csv, sys
s=logo.s; files=json.load(open('sw/files.json')); env=dict(os.environ,TRAINYARD_DATA='SOURCE')
PR={'fp32':'fp32','tf32':'tf32','16bit':'amp'}
FAM={'resnet50':'resnet','bert_base':'bert','bert_large':'bert'}
def args(r):
    a=['--model',r.mk,'--platform',r.platform,'--set',f'stack={r["stack"]}','--set',f'precision={PR[r.precision]}','--set',f'batch_per_gpu={r.batch_per_gpu}','--set','gpus=1','--set','nodes=1','--set','memory=ignore']
    if '@' in r.model: a+=['--set',f'model.bert.sequence_length={r.model.split("@")[1]}']
    return a
c=s.drop_duplicates(['platform','stack','model','precision','batch_per_gpu','gpu'])
done=set()
out=open('conf.jsonl','a')
if os.path.exists('conf.jsonl'):
    for l in open('conf.jsonl'): x=json.loads(l); done.add(tuple(x['key']))
for _,r in c.iterrows():
    key=(r.platform,r['stack'],r.model,r.precision,str(r.batch_per_gpu),r.gpu)
    if key in done: continue
    x=feats.features(args(r)+['--set','software=ideal'])
    if x.get('fail'):
        # parameter servers and such: fall back to an all-reduce stack of the same framework for kernels only
        print(key,x['fail'][-150:],flush=True)
    res=dict(key=key,ideal=x.get('step'),n_ops=x.get('n_ops'),op_total=x.get('op_total'),fail=x.get('fail'),src_m=x.get('src_measured'),src_f=x.get('src_fitted'))
    if not x.get('fail'):
        todo={'published':'published'}
        for lv in ('stack','generation','kind','publication','framework'):
            f=files.get(f'{lv}|{r[logo.LEVELS[lv]]}')
            if f: todo[lv]=f'./sw/{f}.yaml'
        for lv,f in todo.items():
            p=subprocess.run(['nice','-n','12',feats.TY,'run',*args(r),'--set',f'software={f}','--json','--no-usage'],capture_output=True,text=True,env=env)
            try: res[lv]=json.loads(p.stdout)['step_time_s']
            except Exception: res[lv]=None; print(key,lv,p.stderr[-150:],flush=True)
    out.write(json.dumps(res)+'\n'); out.flush()
print('done')
