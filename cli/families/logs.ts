import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import { declareDetail, declareList, withRemaining, type Field } from './family.ts';

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

export const logs = withRemaining({
  command: 'logs',
  summary: 'list the API requests of your programs',
  noun: 'a request',
  list: declareList('listLogs', { columns: [id, received, status, method, endpoint, { ...agent, shown: 'wide' }] }),
  get: declareDetail('getLog', {
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
});
