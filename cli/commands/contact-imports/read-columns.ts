import { CliFault } from '../../output/index.ts';

const FIELDS = [
  ...['email', 'first_name', 'last_name', 'unsubscribed'],
  ...['segment_ids', 'opted_in_topic_ids', 'opted_out_topic_ids'],
];

/** The column map that `--column` and `--property` say together. */
export function readColumns(columns: readonly string[], properties: readonly string[]): Record<string, unknown> {
  const map: Record<string, unknown> = {};
  for (const text of columns) {
    const [, field = '', column = ''] = /^([^=]+)=([^]+)$/.exec(text) ?? [];
    if (!FIELDS.includes(field)) {
      throw new CliFault(`--column takes ${FIELDS.join('=, ')}= a column; got ${JSON.stringify(text)}`, 'usage');
    }
    map[field] = column;
  }
  if (properties.length > 0) map['properties'] = Object.fromEntries(properties.map(readProperty));
  return map;
}

function readProperty(text: string): [string, { column: string; type?: string }] {
  const [, key = '', type, column = ''] = /^([^:=]+)(?::(string|number|boolean))?=([^]+)$/.exec(text) ?? [];
  if (key === '') {
    throw new CliFault(
      `--property takes key=column, key:number=column or key:boolean=column; got ${JSON.stringify(text)}`,
      'usage',
    );
  }
  return [key, type === undefined ? { column } : { column, type }];
}
