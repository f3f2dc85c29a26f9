/**
 * The MCP endpoint for AI assistants: the operations of the API as tools of the Model Context Protocol, for an access
 * token of OAuth.
 */
export { serveMcp, type McpParts } from './serve.ts';
