import type { Command } from 'commander';
import { ownTeams, teams } from '../../families/teams.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../command-options.ts';

const ADDRESS = { postal_address: 'an address (--line1, --city and --country)' };

export function addTeamCommands(program: Command): void {
  declareFamily(program, teams, { actions: { update: { add: (command) => nameFields(command, ADDRESS) } } });
  declareFamily(program, ownTeams);
}
