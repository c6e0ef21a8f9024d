"""What is run of each design, compared with what was predicted; ``usecases/stress.py`` puts it together.

what was given ──► designs (now, recommended, or of a result)          designs
                      │ each: rows, programs, scripts        prepared_design
                      ▼
load ──► warmed up, cold start ──► what came of it                     runs
         0.9 × and 1.1 × its break factor ──► the prediction held      proof
         the first requests on the engine, with rows, audited          audit
         more and more ──► the highest load that keeps the goals       limit
                      ▼
                  the document                                         stress_result
"""
