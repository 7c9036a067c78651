import pandas as pd, numpy as np
d=pd.read_csv('table.csv',low_memory=False)
print('step share', d[d.table=='data_parallel'].comm_share.describe())
o=d[(d.gpus==1)]
for lv in ('software','publication','generation','kind','stack','framework','nothing'):
    r=o['r_'+lv].dropna(); print(lv, len(r), 'mape %.3f'%np.mean(np.abs(np.exp(-r)-1)), 'q10 %.3f q50 %.3f q90 %.3f'%tuple(r.quantile([.1,.5,.9])))
b=pd.cut(d.mean_us,[0,20,40,80,160,320,640,1e7])
for lv in ('software','publication','generation','kind','stack','framework','nothing'):
    print(lv); print(d.groupby(['table',b])['r_'+lv].describe(percentiles=[.1,.5,.9]).round(3).dropna().to_string())
