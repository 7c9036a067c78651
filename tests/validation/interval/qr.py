import pandas as pd, numpy as np, itertools
d=pd.read_csv('table.csv',low_memory=False); d=d[d.generation!='processor']
t=pd.read_csv('feats_targets.csv'); t['e']=np.log(t.step/t.measured_step); t['m']=1e6*t.op_total/t.n_ops
def pin(r,q,tau,w): u=r-q; return np.sum(w*np.where(u>0,tau*u,(tau-1)*u))
def fit(r,m,w,tau):
    best=None; s=-1 if tau<.5 else 1
    for a in np.arange(-0.1,0.6,0.01):
        for c in [0,2,5,8,10,12,15,20,25,30,40,50,60,80,100,150]:
            v=pin(r,s*(a+np.log1p(c/m)),tau,w)
            if best is None or v<best[0]: best=(v,a,c)
    return best[1:]
def cov(lo,hi,m,r): 
    l=-(lo[0]+np.log1p(lo[1]/m)); h=hi[0]+np.log1p(hi[1]/m); return np.mean((r>=l)&(r<=h)),np.median((h-l)/2), np.mean(r<l), np.mean(r>h)
if __name__=='__main__':
  for lv,key in (('software','series'),('stack','fs'),('framework','framework'),('generation','generation'),('kind','kind'),('publication','source'),('nothing','fs')):
    for tab in ('data_parallel','both'):
        x=d if tab=='both' else d[d.table==tab]
        x=x[x['r_'+lv].notna()&x.mean_us.notna()]
        for wn in ('row','group'):
            w=np.ones(len(x)) if wn=='row' else 1/np.sqrt(x.groupby(key)[key].transform('size').values)
            lo=fit(x['r_'+lv].values,x.mean_us.values,w,.1); hi=fit(x['r_'+lv].values,x.mean_us.values,w,.9)
            print(f'{lv:12} {tab:14} {wn:6} lo a=%.2f c=%g hi a=%.2f c=%g'%(*lo,*hi), 'self %.2f hw %.2f'%cov(lo,hi,x.mean_us.values,x['r_'+lv].values)[:2],
              ' '.join(f'{s}: %.2f hw %.2f lo %.2f hi %.2f'%cov(lo,hi,t[t.set==s].m.values,t[t.set==s].e.values) for s in ('steps179','gpu_steps')))
