import pandas as pd, os
E0="SOURCE/workloads/published/errors/"
def load(n):
    d=pd.read_csv(E0+n,comment='#'); d['row']=d.row.str.replace('.csv:','-'); return d
if __name__=="__main__":
    ex=set(x[:-5] for x in os.listdir('exps'))
    s=load('software.csv'); n=load('nothing.csv'); g=load('1gpu.csv'); l=load('layouts_software.csv')
    print(len(s),s.scored.sum(),s.row.isin(ex).sum(), s.row.duplicated().sum(), l.row.isin(ex).sum(), l.row.duplicated().sum())
    m=s[~s.row.isin(ex)]
    print(m.row.str.split('-').str[0].value_counts()); print(m.groupby(['scored','gpus']).size()); print(m.head(8).to_string())
    print(s.groupby([s.row.str.rsplit('-',n=1).str[0],'scored']).size())
    print((s.gpus==1).groupby(s.scored).sum())
