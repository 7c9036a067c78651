"""Collectives: old neighbours against a + log(1 + ...) free class bounds: tree of operation x links x generation, series left out."""
import pandas as pd, numpy as np
E0="SOURCE/workloads/published/errors/"
c=pd.read_csv(E0+'collectives.csv',comment='#'); c['r']=np.log(c.ratio); c['large']=c.bytes>=2**20; c['gen']=c.compute_capability//10
c['pub']=c.source
g=c.groupby(['curve','large'])
w=1/g.r.transform('size'); c['w']=w
print(c.groupby('large').curve.nunique(), c.source.nunique(), c.groupby(['large','fitted']).r.describe(percentiles=[.1,.5,.9]).round(3))
cols=['operation','platform','links','gen','gpus','nodes']
def wq(v,w,q): o=np.argsort(v); cw=np.cumsum(w[o])/w.sum(); return v[o][min(np.searchsorted(cw,q),len(o)-1)]
def D(a,b):
    f=lambda k:(a[k].values[:,None]!=b[k].values[None,:]).astype(float); o=lambda k:np.abs(np.log2(a[k].values[:,None]/b[k].values[None,:]))
    return f('operation')+.7*f('platform')+2*f('links')+f('gen')+.5*o('gpus')+.5*o('nodes')
def old(x,cu,excl):
    """Curve's interval from the 15 nearest curves not in excl."""
    pass
out=[]
for large in (True,False):
    x=c[c.large==large]; cu=x.groupby('curve').first().reset_index(); dist=D(cu,cu); pts={k:v for k,v in x.groupby('curve')}
    def local(i,ok):
        idx=np.flatnonzero(ok); o=idx[np.argsort(dist[i,idx],kind='stable')][:15]
        if len(o)<15: return None
        P=pd.concat([pts[cu.curve[j]] for j in o]); lo,hi=wq(P.r.values,P.w.values,.1),wq(P.r.values,P.w.values,.9); m=dist[i,o].mean()
        return (lo+hi)/2,((hi-lo)/2+.02)*(1+.3*max(0,m-1.5)),m
    cu['newgen']=cu.gen
    # tree: all, links, links x nodes class, links x gen x op
    cu['k0']='all'; cu['k1']=cu.links; cu['k2']=cu.links+'|'+cu.gen.astype(str); cu['k3']=cu.k2+'|'+cu.platform; cu['k4']=cu.k3+'|'+cu.operation+'|'+cu.gpus.astype(str)
    def tree(i,ok,kc=3,kh=3):
        cc=hh=None
        for k in ('k0','k1','k2','k3','k4'):
            idx=np.flatnonzero(ok&(cu[k]==cu[k][i]).values)
            if len(idx)==0: break
            P=pd.concat([pts[cu.curve[j]] for j in idx]); n=cu.series[idx].nunique()
            med=wq(P.r.values,P.w.values,.5); cc=med if cc is None else (n*med+kc*cc)/(n+kc)
            q=wq(np.abs(P.r.values-cc),P.w.values,.8); hh=q if hh is None else (n*q+kh*hh)/(n+kh)
        return cc,hh+.02,0
    for name,fn in (('old',local),('tree',tree)):
        base=[fn(i,(cu.series!=cu.series[i]).values) for i in range(len(cu))]
        need=[];ww=[]
        for i,b in enumerate(base):
            if b is None: continue
            P=pts[cu.curve[i]]; need+=list(np.abs(P.r-b[0])/b[1]); ww+=list(P.w)
        f=wq(np.array(need),np.array(ww),.8)
        def score(level,key):
            ins=[];W=[];hw=[]
            for i in range(len(cu)):
                ok=(cu[key]!=cu[key][i]).values
                b=fn(i,ok)
                if b is None: continue
                P=pts[cu.curve[i]]; ins+=list(np.abs(P.r-b[0])<=f*b[1]); W+=list(P.w); hw.append(f*b[1])
            out.append((large,name,level,len(hw),round(np.average(ins,weights=W),3),round(float(np.median(hw)),3)))
        for level,key in (('series','series'),('source','source'),('generation','gen'),('links','links'),('operation','operation'),('platform','platform')): score(level,key)
print(pd.DataFrame(out,columns=['large','method','left_out','curves','coverage','half']).to_string())
