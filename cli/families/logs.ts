import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import { idEnd } from './flag.ts';
import { detailOf, listOf, type Family, type Field } from './family.ts';

type Log = ItemOf<'listLogs'> | AnswerOf<'getLog'>;

const id: Field<Log> = { name: 'id', label: 'Id', kind: 'id' };
const received: Field<Log> = { name: 'created_at', label: 'Received', kind: 'moment' };
const status: Field<Log> = {
  name: 'response_status',
  label: 'Status',
  kind: 'state',
  tone: (log) => (log.response_status < 400 ? 'good' : 'bad'),
};
const method: Field<Log> = { name: 'method', label: 'Method', kind: 'whole' };
const endpoint: Field<Log> = { name: 'endpoint', label: 'Endpoint', kind: 'name' };
const agent: Field<Log> = { name: 'user_agent', label: 'User agent' };

export const logs = {
  command: 'logs',
  summary: 'the requests of your programs and their answers',
  noun: 'a request',
  list: listOf('listLogs', {
    summary: 'list requests, newest first',
    example: 'logs list --status 422',
    filters: {
      response_status: {
        flag: 'status',
        value: '<status>',
        says: 'only those refused or failed with this HTTP status, 400 to 599',
        isNumber: true,
      },
      start_date: { value: '<time>', says: 'only those received at this ISO 8601 time or later' },
      end_date: { value: '<time>', says: 'only those received at this ISO 8601 time or earlier' },
      search: { value: '<text>', says: 'only those whose path begins with this, such as /emails' },
      id_end: idEnd,
    },
    columns: [id, received, status, method, endpoint, { ...agent, shown: 'wide' }],
    empty: 'There are no requests yet.',
  }),
  get: detailOf('getLog', {
    summary: 'show a request and its answer',
    description:
      'Shows a request and its answer, without secrets and the content of attachments: those are never kept.',
    example: 'logs get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
    path: { log_id: { word: 'log', says: 'its id, which the answer carried as x-request-id' } },
    fields: [
      id,
      received,
      { ...endpoint, label: 'Request', value: (log) => `${log.method} ${log.endpoint}` },
      { ...method, shown: 'asked' },
      status,
      agent,
      { name: 'request_body', label: 'Request body', kind: 'body' },
      { name: 'response_body', label: 'Response body', kind: 'body' },
    ],
  }),
} satisfies Family;
