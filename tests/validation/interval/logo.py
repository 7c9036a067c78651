"""Leave-group-out predictions of fit software for data-parallel rows: software factors refitted without a group, one-GPU runs of each configuration."""
import base, csv, json, os, subprocess, sys, pandas as pd, feats
P='SOURCE/workloads/published/'
s=base.load('software.csv'); s['mk']=s.model.str.split('@').str[0]
KIND={m:'conv' for m in 'alexnet_mxnet alexnet_tf inception_v3 inception_v3_tf insightface_r100 resnet152 resnet50 vgg16'.split()}|{'bert_base':'encoder','bert_large':'encoder','wide_deep':'recommender','nt3':'other'}
s['kind']=s.mk.map(KIND)
src={}
raw={}
for f in s.row.str.rsplit('-',n=1).str[0].unique():
    rows=list(csv.DictReader(open(P+f+'.csv',newline='')))
    for i,r in enumerate(rows,2): raw[f'{f}-{i}']=r
s['source']=[raw[r]['source'] for r in s.row]; s['year']=[raw[r]['year'] for r in s.row]; s['sw']=[raw[r]['framework'] for r in s.row]; s['detail']=[raw[r].get('source_detail','') for r in s.row]
s['fs']=s['framework']+'/'+s['stack']
LEVELS=dict(stack='fs',generation='generation',kind='kind',publication='source',framework='framework',gpu='gpu')
if __name__=='__main__':
    os.makedirs('sw',exist_ok=True)
    one=s[s.gpus==1]; cols=[]
    for r in one.row:
        for k in raw[r]:
            if k not in cols: cols.append(k)
    env=dict(os.environ,TRAINYARD_DATA='SOURCE')
    files={}
    for lv,c in LEVELS.items():
        for v in sorted(one[c].unique()):
            name=f"{lv}_{''.join(x if x.isalnum() else '_' for x in v)[:40]}".lower(); files[f'{lv}|{v}']=name
            if os.path.exists(f'sw/{name}.yaml'): continue
            keep=one[one[c]!=v]
            with open('sw/rows.csv','w',newline='') as fh:
                w=csv.DictWriter(fh,cols,restval=''); w.writeheader(); w.writerows(raw[r] for r in keep.row)
            p=subprocess.run(['nice','-n','12',feats.TY,'calibrate','stack','--rows','sw/rows.csv','-o',f'sw/{name}.yaml','--force'],capture_output=True,text=True,env=env)
            print(lv,v,len(keep),p.returncode,p.stderr[-200:],flush=True)
    json.dump(files,open('sw/files.json','w'))
