"""Choice of the two shrinkages by the interval score of runs without their series (published rows only)."""
import evalnew as E, numpy as np, sys, pandas as pd
d=E.load()
for ms,bt in ((1,0),(2,0),(1,1),(2,1)):
    kc,kh=8,3
    opt=dict(E.OPT,overall=.81,tree=dict(kc=kc,kh=kh),minser=ms,bytable=bt); f,tree,F,_=E.fit_f(d,opt); p,_,_=E.predict(d,d,opt,tree,f,F,loso=True)
    r=d.r_software; inn=(r>=p.lo)&(r<=p.hi); sc=(p.hi-p.lo)+10*np.maximum(0,p.lo-r)+10*np.maximum(0,r-p.hi)
    g=pd.DataFrame(dict(fam=d.fam,i=inn)).groupby('fam').i.agg(['size','mean']); g=g[g['size']>=20]
    print(ms,bt,{k:v for k,v in F.items() if k[0] in 'PS'},(p.cls=='0').sum(),'cov %.3f score %.4f hw %.3f hw0 %.3f fam ok %d/%d rms %.3f'%(inn.mean(),sc.mean(),((p.hi-p.lo)/2).median(),((p.hi-p.lo)/2)[p.cls=='0'].median(),((g['mean']>=.68)&(g['mean']<=.92)).sum(),len(g),np.sqrt(((g['mean']-.8)**2).mean())),flush=True)
    print(g[(g['mean']<.68)|(g['mean']>.92)].round(2).to_string())
