export interface Options {
  /** The program; by default that of the variable DYNAMO_GATEWAY, or dynamo_gateway of the PATH. */
  program?: string;
  /** Settings of the gateway by their names, such as postgres, user and region. */
  settings?: Record<string, string | number>;
}

/** A server; it is what clients of the AWS SDK are made of, too. */
export interface Server {
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  /** The same as variables of the environment, which SDKs and aws-cli read: AWS_ENDPOINT_URL and so on. */
  env: Record<string, string>;
  /** Ends the server, and removes its folder. */
  stop(): Promise<void>;
}

/** Starts a server with no tables, on a free port of this machine. */
export function start(options?: Options): Promise<Server>;
