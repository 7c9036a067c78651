import pandas as pd, numpy as np, sys
e=pd.read_csv(sys.argv[1],low_memory=False); e=e[e.r.notna()&e.lo.notna()]; e['inn']=(e.r>=e.lo)&(e.r<=e.hi); e['hw']=(np.exp(e.hi)-np.exp(e.lo))/2; e['under']=e.r<e.lo
A=dict(n=('inn','size'),cov=('inn','mean'),hw=('hw','median'),slower=('under','mean'))
print(e.groupby(['level']).agg(**A).round(3))
if len(sys.argv)>2:
    print(e.groupby(['level','table']).agg(**A).round(3)); print(e.groupby(['level','cls']).agg(**A).round(3).to_string())
s=e[e.level=='series']
o=pd.read_csv('old_eval.csv'); o=o[o.level=='series'].set_index(['row'])
s=s.assign(dist=o.dist.reindex(s.row).values)
s['q']=s.groupby('table').dist.transform(lambda x: pd.qcut(x,4,labels=False,duplicates='drop'))
print('quartiles by table'); print(s.groupby(['table','q']).agg(**A).round(3)); print('overall quartiles',s.groupby(pd.qcut(s.dist,4)).inn.agg(['size','mean']).round(3).values.tolist())
f=s.groupby('fam').agg(**A); f=f[f.n>=20]; print('families >=20:',len(f),'inside 68-92:',((f['cov']>=.68)&(f['cov']<=.92)).sum()); print(f.sort_values('cov').round(3).to_string() if len(sys.argv)>2 else f[(f['cov']<.68)|(f['cov']>.92)].round(3).to_string())
