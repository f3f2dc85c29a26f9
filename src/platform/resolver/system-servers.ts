import { getServers } from 'node:dns';

/** The name servers that the system asks, as 'ip' or 'ip:port'. */
export const systemServers = (): string[] => getServers();
