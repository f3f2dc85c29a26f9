import { declareDetail, declareReport, type Family } from './family.ts';

/** About the server itself; neither question needs a key. */
export const health = {
  command: 'health',
  summary: 'check that the server is alive',
  noun: 'a server',
  get: declareDetail('getHealth', {
    fields: [
      { name: 'status', label: 'Status', kind: 'state' },
      { name: 'version', label: 'Version' },
      { name: 'env', label: 'Environment' },
    ],
    needsNoKey: true,
  }),
} satisfies Family;

export const readiness = declareReport('getReady', {
  rows: (ready) => ready.checks,
  columns: [
    { name: 'name', label: 'Check', kind: 'whole' },
    {
      name: 'ok',
      label: 'Result',
      kind: 'state',
      value: (check) => (check.ok ? 'ok' : 'failed'),
      tone: (check) => (check.ok ? 'good' : 'bad'),
    },
    { name: 'durationMs', label: 'Ms', kind: 'number' },
    { name: 'error', label: 'Why', kind: 'long' },
  ],
});
