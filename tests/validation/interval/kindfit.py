from qr import *
t['mk']=t.model
def kd(m):
    m=str(m)
    if m.startswith('bert') or m.startswith('vit'): return 'encoder'
    if m.startswith(('gpt','llama','qwen','t5')): return 'decoder'
    return 'conv'
t['kind']=t.mk.map(kd); t['seq']=t.kind!='conv'
print(t.groupby(['set','kind']).e.describe(percentiles=[.1,.5,.9]).round(2))
d['seq']=d.kind.isin(['encoder','decoder','experts'])
for lv,key in (('stack','fs'),('framework','framework'),('generation','generation'),('publication','source'),('kind','kind'),('nothing','fs')):
  for tab in ('data_parallel','both'):
    P={}
    for seq in (False,True):
        x=d[(d.seq==seq)&d['r_'+lv].notna()&d.mean_us.notna()]
        if tab=='data_parallel': x=x[x.table==tab]
        w=1/np.sqrt(x.groupby(key)[key].transform('size').values)
        P[seq]=(fit(x['r_'+lv].values,x.mean_us.values,w,.1),fit(x['r_'+lv].values,x.mean_us.values,w,.9),x.groupby(key).ngroups,len(x))
    out=[]
    for s in ('steps179','gpu_steps'):
        y=t[t.set==s]; n=0;k=0; hw=[]
        for seq in (False,True):
            z=y[y.seq==seq]; lo,hi=P[seq][:2]
            L=-(lo[0]+np.log1p(lo[1]/z.m)); H=hi[0]+np.log1p(hi[1]/z.m); n+=len(z); k+=((z.e>=L)&(z.e<=H)).sum(); hw+=list((H-L)/2)
        out.append('%s %.2f hw %.2f'%(s,k/n,np.median(hw)))
    print(lv,tab,'conv',P[False],'seq',P[True],out)
