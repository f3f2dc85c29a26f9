import { describe, expect, it } from 'vitest';
import * as exported from '../../cli/families/index.ts';
import { listOperations, loadContract, resolveRef, type OperationEntry } from '../../src/contract/index.ts';

const contract = loadContract();
const entries = listOperations(contract);
/** Another name of one that is shown. */
const FORMER = new Set(['getAudienceContact', 'listAudienceContacts']);

describe('the families and the contract', () => {
  const families = Object.values(exported).filter((family) => typeof family === 'object');
  // A part of what the report of another family shows: the credits of the AI helpers, of all that is used.
  const reports = new Set(families.flatMap((family: exported.Family) => family.report?.operation ?? []));
  const declared = families.flatMap((family: exported.Family) => [
    ...(family.list ? [[family.list.operation, family.list.columns, true] as const] : []),
    ...(family.get && !reports.has(family.get.operation)
      ? [[family.get.operation, family.get.fields, false] as const]
      : []),
  ]);
  it.each(declared)('of %s show every field of the response', (id, fields, isList) => {
    const named = new Set(fields.map(({ name }) => name.split('.')[0] ?? ''));
    expect([...named].sort()).toEqual(fieldsAnswered(id, isList).sort());
  });

  it('include every list and every item of the contract', () => {
    // An action that describes the response in words shows it.
    const described = families.flatMap(({ actions = [] }: exported.Family) =>
      actions.filter(({ describe: inWords }) => inWords !== undefined).map(({ operation }) => operation),
    );
    const shown = new Set<string>([...declared.map(([id]) => id), ...reports, ...described]);
    const isWhole = ({ operationId, method }: OperationEntry): boolean =>
      method === 'get' && fieldsAnswered(operationId, false).includes('id');
    const isList = ({ operationId }: OperationEntry): boolean =>
      fieldsAnswered(operationId, false).includes('has_more');
    expect(
      entries
        // Command and console come with a key, and to any server.
        .filter(({ operation }) => operation['x-service-permission'] !== 'session' && !operation['x-development'])
        .filter((entry) => isWhole(entry) || isList(entry))
        .map(({ operationId }) => operationId)
        .filter((id) => !shown.has(id) && !FORMER.has(id)),
    ).toEqual([]);
  });
});

interface Answered {
  properties?: Record<string, Answered>;
  items?: Answered;
  allOf?: Answered[];
}

/** The names in an answer, or in each item of a list; what kind of object it is goes without saying. */
function fieldsAnswered(id: string, isList: boolean): string[] {
  const entry = entries.find(({ operationId }) => operationId === id);
  const response = entry?.operation.responses['200'];
  const schema = response && resolveRef(contract, response).content?.['application/json']?.schema;
  const whole = listProperties(schema as Answered | undefined);
  const names = isList ? listProperties(whole.data && resolveRef(contract, whole.data).items) : whole;
  return Object.keys(names).filter((name) => name !== 'object');
}

function listProperties(given: Answered | undefined): Record<string, Answered> {
  const schema = given && (resolveRef(contract, given) as Answered);
  const parts = (schema?.allOf ?? []).map(listProperties);
  return Object.assign({}, ...parts, schema?.properties) as Record<string, Answered>;
}
