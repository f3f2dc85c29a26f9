import { beginsWith, type Dialect } from '../../../platform/db/index.ts';
import { normalizeAddressStart } from '../../../protocol/address/index.ts';
import { foldText, type Rendered } from '../../../protocol/contact-filter/index.ts';

/** Where a contact is searched by what it begins with: each of them has an index. */
function rangesOf(dialect: Dialect, search: string): Rendered[] {
  const name = foldText(search);
  const address = normalizeAddressStart(search);
  return [
    beginsWith(dialect, 'c.email_key', address),
    beginsWith(dialect, 'c.first_name_key', name),
    beginsWith(dialect, 'c.last_name_key', name),
  ] as Rendered[];
}

/** The ids of the contacts that a search finds, in no order, each of them once or more often. */
export function foundIds(dialect: Dialect, teamId: string, search: string): Rendered {
  const ranges = rangesOf(dialect, search);
  return {
    sql: ranges.map(({ sql }) => `select c.id from contacts c where c.team_id = ? and ${sql}`).join(' union all '),
    values: ranges.flatMap(({ values }) => [teamId, ...values]),
  };
}

/** Whether a search finds the row `c`. */
export function isFound(dialect: Dialect, search: string): Rendered {
  const ranges = rangesOf(dialect, search);
  return {
    sql: `(${ranges.map(({ sql }) => sql).join(' or ')})`,
    values: ranges.flatMap(({ values }) => values),
  };
}
