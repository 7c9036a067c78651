import knn, pandas as pd, numpy as np, json
d=knn.prep(pd.read_csv('table.csv',low_memory=False)); d=d[d.generation!='processor'].reset_index(drop=True)
out={}
GR=dict(series=('series','r_software'),publication=('source','r_publication'),stack=('fs','r_stack'),framework=('framework','r_framework'),generation=('generation','r_generation'),kind=('kind','r_kind'))
res=[]
for tab in ('data_parallel','layouts'):
    x=d[d.table==tab].reset_index(drop=True); dist=knn.D(x,x); r=x.r_software.values; lay=tab=='layouts'; s=x.series.values
    base=knn.local(dist,r,s,s[:,None]!=s[None,:],lay)
    need=np.abs(r-base[0])/base[1]; sc=(x.scored==1).values
    print(tab,'widening',np.nanquantile(need[sc],.8))
    for g,(key,col) in GR.items():
        k=x[key].values; lo=np.full(len(x),np.nan); hi=lo.copy(); md=lo.copy()
        if g=='series':
            c,h,m=base; w=np.nanquantile(need[sc],.8); lo,hi,md=c-w*h,c+w*h,m
        else:
            for v in np.unique(k):
                q=k==v; rest=~q
                if rest.sum()<15: continue
                w=np.nanquantile(need[rest&sc],.8)
                c,h,m=knn.local(dist[q],r,s,np.broadcast_to(rest,(q.sum(),len(x))),lay); lo[q],hi[q],md[q]=c-w*h,c+w*h,m
        res.append(pd.DataFrame(dict(row=x.row,table=tab,level=g,lo=lo,hi=hi,dist=md,r=x[col].values,scored=x.scored.values,gpus=x.gpus.values)))
pd.concat(res).to_csv('old_eval.csv',index=False)
