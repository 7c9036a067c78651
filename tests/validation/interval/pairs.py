"""Comparisons: differences of two residuals of one publication that differ in one property; half width a + b x octaves, publication left out."""
import pandas as pd, numpy as np, itertools
from evalnew import load
d=load(); d=d[d.table=='data_parallel'].reset_index(drop=True)
P=['platform','gpu','fs','mk','model','precision','batch_per_gpu','gpus','nodes']
def prop(a,b):
    ch=set()
    if a.gpus!=b.gpus or a.nodes!=b.nodes: ch.add('gpus')
    if a.batch_per_gpu!=b.batch_per_gpu: ch.add('batch')
    if a.precision!=b.precision: ch.add('precision')
    if a['fs']!=b['fs']: ch.add('software')
    if a.model!=b.model: ch.add('model')
    if a.platform!=b.platform or a.gpu!=b.gpu: ch.add('machine')
    return ch
rows=[]
rng=np.random.default_rng(1)
for s,x in d.groupby('source'):
    recs=list(x.itertuples(index=False)); recs=[r._asdict() for r in recs]
    n=len(recs); prs=[(i,j) for i in range(n) for j in range(i)]
    if len(prs)>20000: prs=[prs[k] for k in rng.choice(len(prs),20000,replace=False)]
    for i,j in prs:
        a,b=recs[j],recs[i]
        c=[]
        if a['gpus']!=b['gpus'] or a['nodes']!=b['nodes']: c.append('gpus')
        if a['batch_per_gpu']!=b['batch_per_gpu']: c.append('batch')
        if a['precision']!=b['precision']: c.append('precision')
        if a['fs']!=b['fs']: c.append('software')
        if a['model']!=b['model']: c.append('model')
        if a['platform']!=b['platform'] or a['gpu']!=b['gpu']: c.append('machine')
        k='+'.join(c) if c else 'settings'
        if len(c)>1: 
            # another batch goes with another model, machine or precision: batch does not count then
            cc=[y for y in c if y!='batch']
            if len(cc)==1 and cc[0] in('precision','model','machine','software'): k=cc[0]
            else: continue
        oct=abs(np.log2(b['gpus']/a['gpus'])) if k=='gpus' else abs(np.log2(b['batch_per_gpu']/a['batch_per_gpu'])) if k=='batch' else 0
        rows.append((s,k,oct,b['r_software']-a['r_software'],b['r_stack']-a['r_stack'],b['r_generation']-a['r_generation'],b['r_kind']-a['r_kind']))
p=pd.DataFrame(rows,columns=['source','k','oct','dr','dr_s','dr_g','dr_k']); p.to_csv('pairs.csv',index=False)
for k,x in p.groupby('k'):
    col={'software':'dr_s','machine':'dr','model':'dr'}.get(k,'dr')
    A=np.abs(x[col].values); w=1/np.sqrt(x.groupby('source').source.transform('size').values)
    def fit(m):
        best=None
        for b in (0,.005,.01,.02,.03,.05):
            z=A[m]-b*x.oct.values[m]; o=np.argsort(z); cw=np.cumsum(w[m][o])/w[m].sum(); a=z[o][min(np.searchsorted(cw,.8),len(o)-1)]
            u=z-a; v=np.sum(w[m]*np.where(u>0,.8*u,-.2*u))
            if best is None or v<best[0]: best=(v,a,b)
        return best[1:]
    ins=[];n=0
    for s in x.source.unique():
        q=(x.source==s).values
        if (~q).sum()<15: continue
        a,b=fit(~q); ins.append((q.sum(),np.mean(A[q]<=a+b*x.oct.values[q])))
    a,b=fit(np.ones(len(x),bool)); tot=sum(n for n,_ in ins)
    print(f'{k:10} pairs {len(x):6} sources {x.source.nunique()} a=%.3f b=%.3f/octave publication left out: %s'%(a,b,round(sum(n*c for n,c in ins)/tot,3) if tot else None), [(n,round(c,2)) for n,c in ins], 'one run q80 |r| %.3f'%np.quantile(np.abs(d.r_software),.8))
