"""Two rivals on the same rows and classes: neighbours of today with class bounds; variance components (moments, normal quantiles)."""
import pandas as pd, numpy as np
from evalnew import load
d=load(); n=pd.read_csv('new3.csv',low_memory=False); o=pd.read_csv('old_eval.csv').drop_duplicates(['row','level']).set_index(['row','level'])
n=n[n.r.notna()]
key=pd.MultiIndex.from_arrays([n.row,n.level]); k=o.reindex(key)
a=n.copy(); m=(a.cls=='0')&k.lo.notna().values; a.loc[m,'lo']=k.lo.values[m]; a.loc[m,'hi']=k.hi.values[m]
def show(e,name):
    e=e[e.lo.notna()]; i=(e.r>=e.lo)&(e.r<=e.hi); print(name, pd.DataFrame(dict(level=e.level,i=i,h=(e.hi-e.lo)/2)).groupby('level').agg(cov=('i','mean'),hw=('h','median')).round(3).T.to_string())
show(a,'neighbours + classes')
Z=1.2816; KEY=dict(publication='source',stack='fs',generation='generation',kind='kind'); COL=dict(S='r_stack',F='r_framework',G='r_generation',K='r_kind',P='r_publication',N='r_nothing'); COL['0']='r_software'
def comps(T):
    rms={c:np.sqrt(np.nanmean(np.square(T[col]-(0)))) for c,col in COL.items()}
    return rms
b=n.copy(); full=comps(d); cache={}
L=[];H=[]
for row,level,cls in zip(b.row,b.level,b.cls):
    if level in KEY:
        g=d.loc[d.row==row,KEY[level]].iloc[0] if (row,level) not in cache else cache[row,level]
        c=cache.setdefault((level,g),None) or comps(d[d[KEY[level]]!=g]); cache[level,g]=c
    else: c=full
    v=c['0']**2+sum(max(0,c[x]**2-c['0']**2) for x in cls.split('+') if x!='0'); h=Z*np.sqrt(v); L.append(-h);H.append(h)
b['lo'],b['hi']=L,H; show(b,'variance components, normal')
