"""The method of today (sim/accuracy/expected_error.cpp) in numpy."""
import numpy as np, pandas as pd
def D(a,b):
    """a: DataFrame of queries, b: DataFrame of rows."""
    A=lambda c:a[c].values[:,None]; B=lambda c:b[c].values[None,:]
    ne=lambda c:(A(c)!=B(c)).astype(float)
    octv=lambda c:np.abs(np.log2(A(c).astype(float)/B(c).astype(float)))
    f=ne('platform')+ne('generation')+ne('framework')+.7*ne('stack')+1*((A('precision')!=B('precision'))|(A('fp8')!=B('fp8')))+ne('seq')
    f+=1*((A('nodes')>1)!=(B('nodes')>1))+.5*((A('gpus')>1)!=(B('gpus')>1))+.5*octv('gpus')
    lay=a.layout.iloc[0]
    if lay:
        f+=((A('tensor')*A('context')>1)!=(B('tensor')*B('context')>1))+1.*((A('pipeline')>1)!=(B('pipeline')>1))+ne('sharded')+2*ne('experts')+.3*np.abs(np.log2(np.maximum(A('tokens'),1)/np.maximum(B('tokens'),1)))
    else:
        same=A('mk')==B('mk')
        f+=.7*~same+ne('divides_layers')+.3*np.where(same,octv('batch_per_gpu'),0)
    return f
def local(dist,r,fam,ok,layout,n=15):
    """Centre, half and mean distance for each query; ok: which rows may be neighbours."""
    c=np.full(len(dist),np.nan); h=c.copy(); md=c.copy()
    for i in range(len(dist)):
        idx=np.flatnonzero(ok[i])
        o=idx[np.argsort(dist[i,idx],kind='stable')]
        if layout:
            cnt={}; k=[]
            for j in o:
                cnt[fam[j]]=cnt.get(fam[j],0)+1
                if cnt[fam[j]]<=5: k.append(j)
                if len(k)==n: break
            o=np.array(k,int)
        o=o[:n]
        if len(o)<n: continue
        lo,hi=np.quantile(r[o],[.1,.9]); m=dist[i,o].mean()
        c[i]=(lo+hi)/2; md[i]=m; h[i]=((hi-lo)/2+.02)*(1+.3*max(0,m-1.5))
    return c,h,md
def prep(d):
    d=d.copy(); d['seq']=d.model.str.contains('@'); d['fp8']=d.get('fp8',0); d['fp8']=d.fp8.fillna(0); d['layout']=d.table=='layouts'
    for c in ('divides_layers',): d[c]=d[c].fillna(0)
    return d
