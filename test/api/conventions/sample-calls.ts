import { contractOperations } from '../../rig/api.ts';
import type { Scene, Team } from '../../rig/scene.ts';

export type Operation = ReturnType<typeof contractOperations>[number];

export interface SampleCall {
  method: string;
  path: string;
  body: Record<string, unknown> | undefined;
}

/** A call of the operation that the contract allows, made of its own examples; ids in the path are nobody's. */
export function sampleCall(operation: Operation, ids: Record<string, string> = {}): SampleCall {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = operation.parameters.find((parameter) => parameter.name === name)?.example;
    return ids[name] ?? String(example);
  });
  const media = operation.operation.requestBody?.content['application/json'];
  const example = media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
  return {
    method: operation.method.toUpperCase(),
    path,
    body: example === undefined ? undefined : (structuredClone(example) as Record<string, unknown>),
  };
}

export const labelOf = (operation: Operation): string => `${operation.method.toUpperCase()} ${operation.path}`;

export const operations = contractOperations();
export const keyed = operations.filter((operation) => operation.operation['x-service-permission'] !== 'none');
export const open = operations.filter((operation) => operation.operation['x-service-permission'] === 'none');
export const lists = operations.filter((operation) => operation.parameters.some(({ name }) => name === 'limit'));
export const withBody = operations.filter((operation) => operation.operation.requestBody !== undefined);

/** One thing of the team's own for each id that stands in a path. A new kind of id needs its maker here. */
export const makers: Record<string, (scene: Scene, team: Team) => Promise<string>> = {
  email_id: async (scene, team) => {
    const domain = await team.domain();
    const body = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
    return (await scene.api('POST', '/emails', { key: team.key, body })).body.id;
  },
  domain_id: async (_, team) => (await team.domain()).id,
  api_key_id: async (scene, team) =>
    (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'One' } })).body.id,
  suppression: async (scene, team) =>
    (await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'gone@example.org' } })).body.id,
};
