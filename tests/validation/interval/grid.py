from qr import *
for a in (.2,.25,.3,.35,.4):
    print(a,' '.join('c=%d: %.2f/%.2f'%(c,*(cov((a,c),(.2,0),t[t.set==s].m.values,t[t.set==s].e.values)[0] for s in ('steps179','gpu_steps'))) for c in (5,10,20,30,40,50,60)))
