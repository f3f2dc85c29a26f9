import { declareDetail, declareFamily, declareReport, type AnswerOf } from './family.ts';

/** About the server itself; neither question needs a key. */
export const health = declareFamily({
  summary: 'check that the server is alive',
  noun: 'a server',
  get: declareDetail('getHealth', {
    fields: { env: 'Environment' },
    columns: ['status', 'version', 'env'],
    needsNoKey: true,
  }),
});

export const readiness = declareReport<'getReady', AnswerOf<'getReady'>['checks'][number]>('getReady', {
  rows: (ready) => ready.checks,
  fields: {
    name: { label: 'Check', kind: 'whole' },
    ok: { label: 'Result', kind: 'state', either: ['ok', 'failed'], tone: ({ ok }) => (ok ? 'good' : 'bad') },
    durationMs: { label: 'Ms', kind: 'number' },
    error: { label: 'Why', kind: 'long' },
  },
  columns: ['name', 'ok', 'durationMs', 'error'],
});
