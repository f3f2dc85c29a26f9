import { declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listLogs' | 'getLog'> = {
  created_at: { label: 'Received', kind: 'moment' },
  response_status: { label: 'Status', tone: (log) => (log.response_status < 400 ? 'good' : 'bad') },
};

export const logs = withRemaining({
  summary: 'list the API requests of your programs',
  list: declareList('listLogs', {
    fields,
    columns: ['id', 'created_at', 'response_status', 'method', 'endpoint'],
    wide: ['user_agent'],
  }),
  get: declareDetail('getLog', {
    fields: {
      ...fields,
      endpoint: { label: 'Request', value: (log) => `${log.method} ${log.endpoint}` },
      method: { shown: 'asked' },
    },
    columns: [
      'id',
      'created_at',
      'endpoint',
      'method',
      'response_status',
      'user_agent',
      'request_body',
      'response_body',
    ],
  }),
});
