import sys, numpy as np, pandas as pd, knn, method as M
from method import *
def load():
    d=knn.prep(pd.read_csv('table.csv',low_memory=False)); d=d[d.generation!='processor'].reset_index(drop=True)
    fam=pd.read_csv('fam.csv'); fam['row']=fam.file.str.split('/').str[-1].str[:-4]+'-'+fam.line.astype(str)
    d=d.merge(fam[['row','family']].rename(columns={'family':'fam'}).drop_duplicates('row'),on='row',how='left')
    d['fam']=d.fam.fillna('one GPU, '+d.source.str[:20])
    d['src_measured']=d.gpu.isin(['h100_measured','h200_measured']).astype(float)
    d['seq']=d.kind.isin(['encoder','decoder','experts'])
    d['r_sg']=np.where(np.abs(d.r_stack)>np.abs(d.r_generation),d.r_stack,d.r_generation)
    d['scale']=np.where(d.nodes>1,2,np.where(d.gpus>1,1,0))
    return d
OPT=dict(overall=.81,tree=dict(kc=8,kh=3),Pmin=False,split=False,S='stack',Skey='fs')
def class_fits(T,opt):
    """Bounds of each novelty class from T."""
    F={}
    for seq in ((False,True) if opt['split'] else (None,)):
        F['S',seq]=side_fit(T,'r_'+opt['S'],opt['Skey'],seq)
        F['G',seq]=side_fit(T,'r_generation','generation',seq)
        F['K',seq]=side_fit(T,'r_kind','kind',None)
        tk=T['table']+T['fs']+T.generation+T.kind
        pk=T.groupby(tk).source.transform('nunique')>1     # rows whose circumstances another publication has too
        F['P',seq]=side_fit(T[pk],'r_publication','source',seq)
        F['N',seq]=side_fit(T,'r_nothing','fs',seq)
        F['F',seq]=side_fit(T,'r_framework','framework',seq)
        F['0',seq]=side_fit(T,'r_software','series',seq)
    if opt.get('bytable'):
        for t in T.table.unique():
            X=T[T.table==t]; pk=(X['fs']+X.generation+X.kind).map(X.groupby(X['fs']+X.generation+X.kind).source.nunique())>1
            F['P',t]=side_fit(X[pk] if pk.sum()>60 else X,'r_publication','source' if t=='data_parallel' else 'series'); F['S',t]=side_fit(X,'r_'+opt['S'],opt['Skey'])
    return F
def combine(F,cls,seq,table=None):
    """Bounds of several novelties at once: a in quadrature above that of known circumstances, the largest c."""
    z=F['0',seq]; out=[]
    for side in (0,1):
        a0=z[side][0]; v=a0**2*np.sign(a0); c=z[side][1]
        for k in cls:
            y=F.get((k,table),F[k,seq]); a=y[side][0]; v+=max(0,a*abs(a)-a0*abs(a0)); c=max(c,y[side][1])
        out.append((np.sqrt(max(v,0)),c))
    return out
def novelty(q,known):
    """What of the job's circumstances no run of the same kind of table has."""
    cls=[]; t=q.table
    if (t,q.kind) not in known: cls.append('K')
    if (t,q['framework'],q.generation) not in known: cls.append('F')
    elif (t,q['fs'],q.generation) not in known: cls.append('S')
    if (t,q.generation,0) not in known and q.src_measured<.5: cls.append('G')
    return cls
def known(T):
    t=list(T.table); g=list(T.generation)
    return set(zip(t,T.kind))|set(zip(t,T['framework'],g))|set(zip(t,T['fs'],g))|set((a,b,0) for a,b in zip(t,g))
def predict(Q,T,opt,tree=None,f=1,F=None,loso=False):
    """Bounds for the rows of Q from table T; loso: Q is T, each row without its series."""
    F=F or class_fits(T,opt); ch=chains(Q); cT=chains(T)
    tree=tree or Tree(T.r_software.values,T.series.values,cT,**opt.get('tree',{}))
    K=known(T); res=[]; cache={}
    bys={}
    if loso:
        # what remains known without a series
        for s in T.series.unique(): bys[s]=known(T[T.series!=s])
    for j in range(len(Q)):
        q=Q.iloc[j]; cls=novelty(q,bys[q.series] if loso else K)
        seq=bool(q.seq) if opt['split'] else None
        if cls:
            if opt.get('N',1) and q.src_measured>=.5: cls=['N']
            (al,cl),(ah,chh)=combine(F,cls,seq,q.table) if cls!=['N'] else F['N',seq]; m=q.mean_us; lo=-(al+np.log1p(cl/m)); hi=ah+np.log1p(chh/m); dep=-1
        else:
            key=tuple(ch.iloc[j]),q.series if loso else None
            if key not in cache:
                cache[key]=tree.at(ch.iloc[j].values,q.series if loso else None)
                if cache[key][2]==5 and tree.last<(2 if q.table=='layouts' else 1): cache[key]=(*cache[key][:2],4)
            c,h,dep=cache[key]; fl=f if np.isscalar(f) else f[dep]; lo,hi=c-fl*(h+.02),c+fl*(h+.02)
            if dep<5:
                (al,cl),(ah,chh)=F.get(('P',q.table),F['P',seq]); m=q.mean_us; lo=min(lo,-(al+np.log1p(cl/m))) if opt['Pmin'] else -(al+np.log1p(cl/m)); hi=max(hi,ah+np.log1p(chh/m)) if opt['Pmin'] else ah+np.log1p(chh/m); cls=['P']
        res.append((lo,hi,'+'.join(cls) or '0',dep))
    return pd.DataFrame(res,columns=['lo','hi','cls','depth'],index=Q.index),tree,F
def fit_f(T,opt):
    p,tree,F=predict(T,T,opt,f=1,loso=True)
    c=(p.lo+p.hi)/2; h=(p.hi-p.lo)/2; k=(p.cls=='0')
    need=(np.abs(T.r_software-c)/h)[k]
    lv=opt.get('share',.8)
    if opt.get('overall'):
        inn=((T.r_software>=p.lo)&(T.r_software<=p.hi))[~k].sum(); lv=float(np.clip((opt['overall']*len(T)-inn)/k.sum(),.7,.9))
    g=np.quantile(need,lv); f={}
    for dep in range(6):
        z=need[p.depth[k]==dep]; f[dep]=(len(z)*np.quantile(z,lv)+40*g)/(len(z)+40) if len(z) else g
    return f,tree,F,p
LEVELS=dict(publication='source',stack='fs',generation='generation',kind='kind')
if __name__=='__main__':
    d=load(); opt=dict(OPT); 
    for a in sys.argv[2:]:
        k,v=a.split('='); opt[k]=eval(v)
    out=[]
    f,tree,F,p=fit_f(d,opt); print('f',f); print({k:v for k,v in F.items()})
    p,_,_=predict(d,d,opt,tree,f,F,loso=True)
    o=d[['row','table','series','fam','scored','gpus','nodes','source','fs','generation','kind','mk']].copy(); o['level']='series'; o['r']=d.r_software; o=pd.concat([o,p],axis=1); out.append(o)
    for lv,key in LEVELS.items():
        for v in d[key].unique():
            T=d[d[key]!=v].reset_index(drop=True); Q=d[d[key]==v]
            ff,tr,FF,_=fit_f(T,opt)
            p,_,_=predict(Q,T,opt,tr,ff,FF)
            o=Q[['row','table','series','fam','scored','gpus','nodes','source','fs','generation','kind','mk']].copy(); o['level']=lv; o['r']=Q['r_'+lv]; out.append(pd.concat([o,p],axis=1))
    t=pd.read_csv('feats_targets.csv'); t['e']=np.log(t.step/t.measured_step); 
    def kd(m): return 'encoder' if m.startswith(('bert','vit')) else 'decoder' if m.startswith(('gpt','llama','qwen','t5')) else 'conv'
    t['kind']=t.model.map(kd); t['mk']=t.model; t['mean_us']=1e6*t.op_total/t.n_ops; t['fs']=t['framework']+'/'+t['stack']; t['seq']=t.kind!='conv'; t['src_measured']=1.; t['table']='data_parallel'; t['nodes']=1; t['gpus']=1; t['series']='x'; t['precision']=t.precision_key
    p,_,_=predict(t,d,opt,tree,f,F)
    o=t[['row','table','series','kind','mk','fs','generation']].copy(); o['level']=t.set; o['r']=t.e; out.append(pd.concat([o,p],axis=1))
    pd.concat(out).to_csv(sys.argv[1],index=False)
