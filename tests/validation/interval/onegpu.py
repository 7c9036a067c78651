import csv, os, base
s=base.load('software.csv'); ex=set(x[:-5] for x in os.listdir('exps')); miss=set(s[~s.row.isin(ex)].row)
os.makedirs('one_csv',exist_ok=True)
for f in sorted(set(r.rsplit('-',1)[0] for r in miss)):
    rows=list(csv.reader(open(f'SOURCE/workloads/published/{f}.csv',newline='')))
    h=rows[0]; print(f,h)
    gi=[h.index(c) for c in ('gpus_per_node','nodes','gpus_total')]
    out=[h]
    for i,r in enumerate(rows[1:],2):
        if f'{f}-{i}' in miss:
            r=list(r)
            print(f,i,[r[j] for j in gi]) if i%40==0 else None
            if r[gi[0]]: r[gi[0]]='2'
            if r[gi[1]]: r[gi[1]]='1'
            r[gi[2]]='2'
        out.append(r)
    csv.writer(open(f'one_csv/{f}.csv','w',newline='')).writerows(out)
# second pass: missing rows only, split cleared, with a map of lines
mp={}
for f in sorted(set(r.rsplit('-',1)[0] for r in miss)):
    rows=list(csv.reader(open(f'one_csv/{f}.csv',newline=''))); h=rows[0]; si=h.index('split'); ci=h.index('clean')
    out=[h]
    for i,r in enumerate(rows[1:],2):
        if f'{f}-{i}' in miss: r[si]=''; r[ci]='yes'; out.append(r); mp[f'{f}-{len(out)}']=f'{f}-{i}'
    csv.writer(open(f'one_csv/{f}.csv','w',newline='')).writerows(out)
import json; json.dump(mp,open('one_map.json','w'))
