"""What would ship: classes.csv (two numbers a side and class) and nodes.csv (centre and half of circumstances that were measured)."""
import pandas as pd, numpy as np
from evalnew import *
d=load(); opt=dict(OPT); f,tree,F,p=fit_f(d,opt); ch=chains(d)
pd.DataFrame([dict(cls=k[0],a_slower=round(v[0][0],3),c_slower_us=v[0][1],a_faster=round(v[1][0],3),c_faster_us=v[1][1]) for k,v in F.items()]).to_csv('classes.csv',index=False)
rows=[]
for key,x in d.groupby(ch.n5.values):
    i=x.index[0]; c,h,dep=tree.at(ch.loc[i].values); n=x.series.nunique()
    if x.table.iloc[0]=='layouts' and n<2: half=None
    else: half=f[5]*(h+.02)
    rows.append(dict(table=x.table.iloc[0],framework=x.framework.iloc[0],stack=x['stack'].iloc[0],generation=x.generation.iloc[0],gpu=x.gpu.iloc[0],platform=x.platform.iloc[0],kind=x.kind.iloc[0],model=x.mk.iloc[0],precision=x.precision.iloc[0],nodes='many' if x.nodes.iloc[0]>1 else 'one',runs=len(x),series=n,centre=round(c,3),half=None if half is None else round(half,3),rows=' '.join(sorted(x.row)[:3])))
n=pd.DataFrame(rows); n.to_csv('nodes.csv',index=False); print(len(n),n.half.describe(),n.centre.abs().describe()); print((n.centre.abs()>.1).sum()); print(n[n.centre.abs()>.1][['stack','platform','model','precision','runs','centre','half']].to_string())
