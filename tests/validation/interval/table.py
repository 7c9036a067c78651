"""The residual table: ./table.csv."""
import logo, base, json, numpy as np, pandas as pd, yaml, os
def build():
    s=logo.s.copy(); n=base.load('nothing.csv').set_index('row'); g=base.load('1gpu.csv').set_index('row')
    s['r_software']=np.log(s.measured/s.predicted); s['r_nothing']=np.log(s.measured/n.predicted.reindex(s.row).values)
    s['r_1gpu']=np.log(s.measured/g.predicted.reindex(s.row).values)
    cf={tuple(x['key']):x for x in map(json.loads,open('conf.jsonl'))}
    def get(r,k):
        x=cf.get((r.platform,r['stack'],r.model,r.precision,str(r.batch_per_gpu),r.gpu)); return x.get(k) if x and not x.get('fail') else np.nan
    for k in ('ideal','published','stack','generation','kind','publication','framework','n_ops','op_total'): s['one_'+k]=[get(r,k) for _,r in s.iterrows()]
    s=s.astype({'one_'+k:float for k in ('ideal','published','stack','generation','kind','publication','framework','n_ops','op_total')})
    # share of the step that kernels and launches are: predicted rate against ranks times the rate of one
    s['rate']=s.predicted
    step=s.gpus*s.batch_per_gpu/s.predicted
    share=np.clip(s.one_published/step,0.05,1)
    for lv in ('stack','generation','kind','publication','framework'):
        # the prediction moves by the same share as one GPU's step does
        ratio=(1-share)+share*s['one_'+lv]/s.one_published
        s['r_'+lv]=s.r_software+np.log(ratio)   # measured / predicted grows with the predicted step
    s['mean_us']=1e6*s.one_op_total/s.one_n_ops
    s['comm_share']=1-share
    s['table']='data_parallel'
    l=base.load('layouts_software.csv'); ln=base.load('layouts_nothing.csv').set_index('row')
    raw={}
    import csv
    for f in l.row.str.rsplit('-',n=1).str[0].unique():
        for i,r in enumerate(csv.DictReader(open(logo.P+f+'.csv',newline='')),2): raw[f'{f}-{i}']=r
    l['source']=[raw[r]['source'] for r in l.row]; l['sw']=[raw[r]['framework'] for r in l.row]
    l['r_software']=np.log(l.measured/l.predicted); l['r_nothing']=np.log(l.measured/ln.predicted.reindex(l.row).values)
    for lv in ('stack','generation','kind','publication','framework'): l['r_'+lv]=l.r_software   # no run of these tables is fitted to
    L={'bloom_176b':70,'llama31_405b':126,'llama3_70b':80,'llama3_8b':32,'qwen3_30b_a3b':48,'deepseek_v3_like':61,'megatron_22b':48,'gpt3_175b':96,'megatron_1t':128}
    def layers(r):
        m=r.model.split('@')[0]
        if m in L: return L[m]
        return int(yaml.safe_load(open(f'exps/{r.row}.yaml'))['set']['model.decoder.layers'])
    lay=l.apply(layers,axis=1)
    dp=l.gpus/(l.tensor*l.context*l.pipeline)
    step=dp*l.batch_per_gpu*1.0/l.predicted     # batch_per_gpu: samples of one replica's step or micro-batch, see below
    l['lay']=lay; l['mk']=l.model.str.split('@').str[0]; l['kind']=np.where(l.experts==1,'experts','decoder')
    l['fs']=l['framework']+'/'+l['stack']; l['table']='layouts'; l['rate']=l.predicted
    gb=[]
    for r in l.row:
        y=yaml.safe_load(open(f'exps/{r}.yaml')); gb.append((y['batch_per_gpu'],y['accumulation'],y['parallelism']['recompute']))
    l['mb']=[a for a,_,_ in gb]; l['acc']=[b for _,b,_ in gb]; rec=[c for _,_,c in gb]
    step=dp*l.mb*l.acc/l.predicted
    nops=lay/l.pipeline*l.acc*np.where([c=='full' for c in rec],48,36)
    l['mean_us']=1e6*step*(l.acc/(l.acc+(l.pipeline-1)/l.virtual_stages))*0.9/nops
    l['series']='L'+l.family.astype(str)
    s['series']='D'+s.series.astype(str)
    d=pd.concat([s,l],ignore_index=True)
    d['year0']=d.get('year')
    return d
if __name__=='__main__':
    d=build(); d.to_csv('table.csv',index=False); print(len(d), d[['r_software','r_nothing','r_stack','r_generation','r_kind','r_publication','r_framework','mean_us']].describe().to_string())
