import { actionOf, detailOf, listOf, type Family, type ItemOf, type Key, type Tone } from './family.ts';

const APPROVAL: Key = { word: 'approval', says: 'its id, as approvals list shows it' };

type Summary = ItemOf<'listApprovals'>;

const TONES: Partial<Record<Summary['status'], Tone>> = { pending: 'attention', done: 'good', failed: 'bad' };

const isPending = ({ status }: Summary): boolean => status === 'pending';
const ONLY = { when: isPending, says: 'only what waits' };

const columns = [
  { name: 'id' as const, label: 'Id', kind: 'id' as const },
  { name: 'summary' as const, label: 'What', kind: 'name' as const },
  { name: 'grant.client_name' as const, label: 'App', value: ({ grant }: Summary) => grant.client_name },
  {
    ...{ name: 'status' as const, label: 'Status', kind: 'state' as const },
    tone: ({ status }: Summary): Tone => TONES[status] ?? 'plain',
  },
  { name: 'created_at' as const, label: 'Asked', kind: 'time' as const },
];

export const approvals = {
  command: 'approvals',
  summary: 'what apps want to do, until a person has approved it',
  noun: 'an approval',
  list: listOf('listApprovals', {
    summary: 'list what apps asked for, newest first',
    description:
      'Shows what apps may only do once a person has approved it, and what became of it. Which of its calls an app has to ask for is a limit of its grant.',
    example: 'approvals list --status pending',
    filters: {
      status: {
        value: '<status>',
        says: 'pending, running, done, failed, rejected or expired',
        choices: ['pending', 'running', 'done', 'failed', 'rejected', 'expired'],
      },
    },
    columns: [
      ...columns,
      { name: 'expires_at', label: 'Until', kind: 'time', shown: 'wide' },
      { name: 'decided_at', label: 'Decided', kind: 'time', shown: 'wide' },
      { name: 'decided_by', label: 'By', shown: 'wide', value: ({ decided_by: by }) => by?.name ?? by?.kind },
      { name: 'operation_id', label: 'Operation', shown: 'wide' },
      { name: 'grant.id', label: 'Grant', shown: 'asked', value: ({ grant }) => grant.id },
    ],
    empty: 'No app has asked for anything.',
  }),
  get: detailOf('getApproval', {
    summary: 'show a call as the app has made it, and what came of it',
    example: 'approvals get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91',
    path: { approval_id: APPROVAL },
    fields: [
      ...columns,
      { name: 'operation_id', label: 'Operation' },
      { name: 'expires_at', label: 'Until', kind: 'time' },
      { name: 'decided_at', label: 'Decided', kind: 'time' },
      { name: 'decided_by', label: 'By', value: ({ decided_by: by }) => by?.name ?? by?.kind },
      { name: 'reason', label: 'Reason' },
      { name: 'error', label: 'Error', value: ({ error }) => error?.message },
      { name: 'result', label: 'Result', value: ({ result }) => (result === null ? null : JSON.stringify(result)) },
      {
        name: 'files',
        label: 'Files',
        value: ({ files }) =>
          files.map(({ url, bytes, sha256 }) => `${url} (${bytes} bytes, SHA-256 ${sha256})`).join(', '),
      },
      { name: 'call', label: 'Call', kind: 'body', value: ({ call }) => JSON.stringify(call, null, 2) },
    ],
  }),
  actions: [
    actionOf('approveCall', {
      verb: 'approve',
      key: 'a',
      summary: 'have a call made that an app has asked for',
      description:
        'The call is made once, for the app and with its rights, and what came of it is shown. Look at it first.',
      example: 'approvals approve 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91',
      path: { approval_id: APPROVAL },
      only: ONLY,
      tell: ({ status, summary, error }) =>
        status === 'failed' ? `${summary}: failed, ${error?.message}` : `${summary}: ${status}.`,
    }),
    actionOf('rejectCall', {
      verb: 'reject',
      key: 'n',
      summary: 'never have a call made that an app has asked for',
      example: "approvals reject 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91 --reason 'not before Monday'",
      path: { approval_id: APPROVAL },
      flags: { reason: { value: '<text>', says: 'why, for the app' } },
      only: ONLY,
      tell: ({ summary }) => `${summary}: rejected.`,
    }),
  ],
} satisfies Family;
