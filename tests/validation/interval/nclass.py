"""How well bounds of the class 'no factors fitted' hold where a group is left out of their fit, and how far they move."""
import numpy as np, pandas as pd
from evalnew import load
from method import side_fit
d=load(); t=pd.read_csv('feats_targets.csv'); t['e']=np.log(t.step/t.measured_step); t['m']=1e6*t.op_total/t.n_ops
def ins(F,r,m):
    lo,hi=F; L=-(lo[0]+np.log1p(lo[1]/m)); H=hi[0]+np.log1p(hi[1]/m); return (r>=L)&(r<=H)
def tg(F): return ' '.join('%s %.3f'%(s,ins(F,t[t.set==s].e,t[t.set==s].m).mean()) for s in ('steps179','gpu_steps'))
F=side_fit(d,'r_nothing','fs'); print('all',F,tg(F))
x=d[d.generation!='hopper']; F=side_fit(x,'r_nothing','fs'); print('no Hopper',F,tg(F))
for key in ('series','source','framework'): F=side_fit(d,'r_nothing',key); print('weights by',key,F,tg(F))
for key in ('source','fs','framework','generation','kind'):
    k=n=0; rng=[]; tt=[]
    for v in d[key].unique():
        F=side_fit(d[d[key]!=v],'r_nothing','fs'); q=d[d[key]==v]; k+=ins(F,q.r_nothing,q.mean_us)[q.mean_us.notna()].sum(); n+=q.mean_us.notna().sum()
        rng.append((F[0][0],F[0][1],F[1][0])); tt.append([ins(F,t[t.set==s].e,t[t.set==s].m).mean() for s in ('steps179','gpu_steps')])
    rng=np.array(rng); tt=np.array(tt); print('left out',key,'coverage %.3f of %d'%(k/n,n),'a %.2f-%.2f c %g-%g hi %.2f-%.2f'%(rng[:,0].min(),rng[:,0].max(),rng[:,1].min(),rng[:,1].max(),rng[:,2].min(),rng[:,2].max()),'targets',tt.min(0).round(2),tt.max(0).round(2))
# without the term of kernels: a constant spread alone
import method as M
M.CS=np.array([0.]); F=side_fit(d,'r_nothing','fs'); print('c=0',F,tg(F))
