import path from 'node:path';
import { findTarget, NoAnswer, OF_MACHINE, type Target, type TargetInput } from '../client/index.ts';
import { isOperators } from '../output/index.ts';
import type { FindMachine, Machine } from './machine.ts';

/**
 * Finds server and key of a command for operators. A key or profile that is typed wins, and so does the token of an operator from anywhere.
 * Otherwise the server of this machine takes the pass of the machine, if this account can write one. Another server that was chosen gets the
 * key that is in force there, and never the pass.
 */
export async function findOperatorTarget(given: TargetInput & { cwd: string }, find?: FindMachine): Promise<Target> {
  const { data, cwd, env, ...others } = given;
  if (data === undefined) {
    const target = findTarget(given);
    return isSettled(given, target) ? target : ((await findPass(find, given, target)) ?? target);
  }
  const machine = await find?.(env, { data: path.resolve(cwd, data) });
  if (!machine || others.profile !== undefined) return findTarget(given);
  const target = findTarget({ ...others, cwd, env, installation: { url: machine.url } });
  const isElsewhere = others.url !== undefined && !machine.isServedAt(target.url);
  return isSettled(given, target) || isElsewhere || !machine.mayLook ? target : writePass(machine);
}

/** Returns whether the key was typed, or belongs to an operator. */
const isSettled = ({ apiKey, profile }: TargetInput, target: Target): boolean =>
  apiKey !== undefined || profile !== undefined || isOperators(target) || target.operatorToken !== undefined;

/**
 * Returns undefined where the server in force is not the one of this machine, or this account cannot write its pass.
 */
async function findPass(
  find: FindMachine | undefined,
  { env }: TargetInput,
  { url, urlFrom }: Target,
): Promise<Target | undefined> {
  const machine = await find?.(env, {});
  if (!machine?.mayLook || (urlFrom !== 'default' && !machine.isServedAt(url))) return undefined;
  return writePass(machine);
}

function writePass(machine: Machine): Target {
  const running = machine.running();
  if (!running) {
    const advice = { words: 'Look at it with', command: ['doctor'] } as const;
    throw new NoAnswer({ url: machine.url ?? '', cause: `No server runs from ${machine.data}.`, advice });
  }
  const { url, pass } = running;
  // A question at the terminal may wait for longer than a pass is good for.
  const operatorToken = (): string => machine.running()?.pass ?? pass;
  return { url, urlFrom: OF_MACHINE, apiKey: pass, operatorToken, keyFrom: 'the pass of this machine' };
}
