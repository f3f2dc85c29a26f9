import type { Command } from 'commander';
import { health, readiness } from '../../families/system.ts';
import { act, declareCommand } from '../declare.ts';
import { declareGet } from '../declare-family.ts';

export function addSystemCommands(program: Command): void {
  declareGet(program, health, health.get, {
    run: async (session, words, options) => (await import('./health.ts')).getHealth(session, words, options),
  });
  declareCommand(program, 'ready', readiness).action(
    act(async (session) => (await import('./ready.ts')).getReady(session), { key: false }),
  );
}
