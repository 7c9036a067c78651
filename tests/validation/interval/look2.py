import pandas as pd, numpy as np
from qr import *
x=d.copy(); x['mb']=pd.cut(x.mean_us,[0,80,160,320,1e7])
for lv in ('software','stack','framework','generation','nothing'):
    print(lv); print(x.groupby(['table','kind','precision'])['r_'+lv].describe(percentiles=[.1,.5,.9])[['count','std','10%','50%','90%']].round(3).dropna().to_string())
t['kind']=np.where(t.model.str.contains('bert'),'encoder',np.where(t.model.str.contains('gpt|llama|qwen|t5'),'decoder',np.where(t.model.str.contains('vit'),'vit','conv')))
print(t.groupby(['set','kind','precision']).e.describe(percentiles=[.1,.5,.9]).round(2).to_string())
