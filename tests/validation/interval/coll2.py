import re
s=open('coll.py').read()
s=s.replace("for level,key in (('series','series'),('source','source'),('generation','gen'),('links','links'),('operation','operation'),('platform','platform')): score(level,key)",
"""for fit in (0,1):
            I=[];W=[]
            for i,b in enumerate(base):
                if b is None or cu.fitted[i]!=fit: continue
                P=pts[cu.curve[i]]; I+=list(np.abs(P.r-b[0])<=f*b[1]); W+=list(P.w)
            out.append((large,name,'series, fitted' if fit else 'series, unfitted',len(set(cu.curve[cu.fitted==fit])),round(np.average(I,weights=W),3),round(f,3)))""")
exec(s)
