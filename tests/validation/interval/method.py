"""Intervals of log(measured / predicted) by what was measured: a tree of medians and spreads for circumstances that were
measured, and for new stacks, GPU generations and kinds of models bounds lo = centre - a - log(1 + c / m), m the predicted
mean kernel in us, from the residuals of runs predicted without theirs. Two numbers a class and side; no neighbours."""
import numpy as np, pandas as pd, knn
AS=np.arange(-0.1,0.71,0.01); CS=np.array([0,2,5,8,10,12,15,20,25,30,40,50,60,80,100.])
def fit_side(r,m,w,tau):
    """a and c with the least pinball loss of the tau quantile of r."""
    s=-1 if tau<.5 else 1; best=None
    for c in CS:
        base=s*np.log1p(c/m)
        # weighted quantile of r - base gives the best a for this c
        z=(r-base); o=np.argsort(z); cw=np.cumsum(w[o])/w.sum(); q=z[o][min(np.searchsorted(cw,tau),len(o)-1)]
        a=float(np.clip(s*q,-.1,.9)); u=z-s*a; v=np.sum(w*np.where(u>0,tau*u,(tau-1)*u))
        if best is None or v<best[0]-1e-9: best=(v,a,float(c))
    return best[1:]
def side_fit(x,col,key,seq=None):
    x=x[x[col].notna()&x.mean_us.notna()]
    if seq is not None: x=x[x.seq==seq]
    w=1/np.sqrt(x.groupby(key)[key].transform('size').values.astype(float))
    return fit_side(x[col].values,x.mean_us.values,w,.1),fit_side(x[col].values,x.mean_us.values,w,.9)
def chains(d):
    """Keys of a row's nodes, from all to most alike."""
    fs=d['fs']+'|'; k=d['kind']+'|'; p=d['precision']+'|'; md=np.where(d.nodes>1,'many','one'); md=pd.Series(md,index=d.index)
    L=d.table+'|'
    return pd.DataFrame(dict(n0=L,n1=L+k+md,n2=L+fs+k,n3=L+fs+k+p+md,n4=L+fs+d.mk+p+md,n5=L+fs+d.mk+p+md+d.platform))
class Tree:
    """Centres and half spreads of nodes, shrunk to the parent's by the number of series, of rows with own series left out."""
    def __init__(s,r,series,ch,kc=1.0,kh=3.0,depth=6,cap=8):
        s.kc,s.kh,s.depth,s.cap=kc,kh,depth,cap
        s.r,s.series,s.ch=r,series,ch
        s.idx=[{k:np.asarray(v) for k,v in pd.Series(range(len(r))).groupby(ch.iloc[:,l].values).groups.items()} for l in range(depth)]
    def at(s,keys,without=None):
        c=h=None; used=0
        for l in range(s.depth):
            ii=s.idx[l].get(keys[l])
            if ii is None: break
            if without is not None: ii=ii[s.series[ii]!=without]
            if len(ii)==0: break
            ser=s.series[ii]; u,inv,n=np.unique(ser,return_inverse=True,return_counts=True); w=1/np.sqrt(n[inv]); neff=min(len(u),s.cap*4); s.last=len(u)
            rr=s.r[ii]; o=np.argsort(rr); cw=np.cumsum(w[o])/w.sum(); med=rr[o][np.searchsorted(cw,.5)]
            if c is None: c=med
            else: c=(neff*med+s.kc*c)/(neff+s.kc)
            ab=np.abs(rr-c); o=np.argsort(ab); cw=np.cumsum(w[o])/w.sum(); q=ab[o][min(np.searchsorted(cw,.8),len(o)-1)]
            h=q if h is None else (neff*q+s.kh*h)/(neff+s.kh); used=l
        return c,h,used
