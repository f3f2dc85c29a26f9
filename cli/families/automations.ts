import {
  drawGraph,
  dryRunInWords,
  enrolmentInWords,
  retriesInWords,
  runsInWords,
  runStepsInWords,
} from './automation-words.ts';
import { adviseWarnings, declareAction, declareDetail, declareFamily, declareList, withRemaining } from './family.ts';
import type { FieldsOf, Only } from './family.ts';
import { REVOKED, SHARED_PAGE } from './shares.ts';

const fields: FieldsOf<'listAutomations' | 'getAutomation'> = {
  status: { tone: ({ status }) => (status === 'enabled' ? 'good' : 'plain') },
  reentry: { label: 'Re-entry', shown: 'wide' },
  exit_on: { label: 'Ends on', shown: 'wide', words: ({ exit_on: names }) => names.join(', ') },
  changed_by_app: 'Written by app',
};

export const automations = withRemaining({
  summary: 'manage automations, which take contacts through steps after an event',
  list: declareList('listAutomations', {
    fields,
    columns: ['id', 'name', 'status', 'reentry', 'exit_on', 'created_at', 'updated_at'],
    wide: ['changed_by_app'],
  }),
  get: declareDetail('getAutomation', {
    fields: { ...fields, connections: { shown: 'asked' }, runs: { value: runsInWords }, steps: { value: drawGraph } },
    columns: [
      'id',
      'name',
      'status',
      'reentry',
      'exit_on',
      'changed_by_app',
      'created_at',
      'updated_at',
      'connections',
      'runs',
      'steps',
    ],
  }),
  actions: [
    declareAction('createAutomation', { warn: adviseWarnings }),
    declareAction('updateAutomation', { warn: adviseWarnings }),
    declareAction('stopAutomation', { done: 'Stopped' }),
    declareAction('duplicateAutomation', { done: 'Copied' }),
    declareAction('createAutomationRun', { done: 'Started run', warn: adviseWarnings }),
    declareAction('getAutomationEnrolment', { describe: enrolmentInWords }),
    declareAction('dryRunAutomation', { describe: dryRunInWords }),
    declareAction('retryAutomationRuns', { describe: retriesInWords }),
    declareAction('createAutomationShare', SHARED_PAGE),
    declareAction('revokeAutomationShares', REVOKED),
    declareAction('deleteAutomation'),
  ],
  elsewhere: { listAutomationRuns: true, getAutomationRun: true, retryAutomationRun: true, skipAutomationStep: true },
});

const runFields: FieldsOf<'listAutomationRuns' | 'getAutomationRun'> = {
  status: { tone: { running: 'attention', completed: 'good', failed: 'bad', cancelled: 'plain' } },
  completed_at: 'Ended',
  error: { label: 'Why', kind: 'long' },
  ended_by: 'Ended by',
};

const FAILED: Only = {
  when: ({ status }: { status: string }) => status === 'failed',
  says: 'only a failed run can be continued',
};

export const automationRuns = declareFamily({
  list: declareList('listAutomationRuns', {
    fields: runFields,
    columns: ['id', 'status', 'created_at', 'started_at', 'completed_at', 'contact_id', 'error', 'ended_by'],
  }),
  get: declareDetail('getAutomationRun', {
    fields: { ...runFields, steps: { value: runStepsInWords } },
    columns: ['id', 'status', 'created_at', 'started_at', 'completed_at', 'contact_id', 'error', 'ended_by', 'steps'],
  }),
  actions: [
    declareAction('retryAutomationRun', { only: FAILED }),
    declareAction('skipAutomationStep', { only: FAILED }),
  ],
});
