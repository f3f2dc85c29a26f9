import type { Command } from 'commander';
import { drop, queue, queueHolds } from '../../families/queue.ts';
import { act, declareCommand } from '../declare.ts';
import { addFlags, addYes, declareFamily } from '../declare-family.ts';

export function addQueueCommands(program: Command): void {
  declareFamily(program, queue, declareDrop);
  declareFamily(program, queueHolds);
}

function declareDrop(parent: Command): void {
  const command = addYes(declareCommand(parent, drop.verb, drop));
  addFlags(command, drop.flags);
  command.action(act(async (session, _, options) => (await import('./drop.ts')).dropQueue(session, options)));
}
