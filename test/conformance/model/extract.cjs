// node extract.cjs FOLDER >members.json
//
// The members of the inputs of DynamoDB's operations, from the schemas of Amazon's SDK for JavaScript, whose packages are installed
// in the folder: npm install --prefix FOLDER @aws-sdk/client-dynamodb@3.1162.0 @aws-sdk/client-dynamodb-streams@3.1141.0
//
// A structure is an object with its members, a list an array of its element, a map {"*": its values}; values of items are not
// followed.  The name of a member that must be there ends with "!".
const { createRequire } = require("module");
const from = createRequire(require("path").resolve(process.argv[2], "x.js"));
const clients = ["@aws-sdk/client-dynamodb", "@aws-sdk/client-dynamodb-streams"];

const LIST = 64;
const MAP = 128;
const scalars = { 0: "string", 1: "number", 2: "boolean", 21: "binary" };

function described(schema) {
	while (typeof schema === "function") schema = schema();
	if (typeof schema === "number") {
		if (schema & MAP) return { "*": described(schema & ~MAP) };
		if (schema & LIST) return [described(schema & ~LIST)];
		return scalars[schema] ?? "string";
	}
	// a member with traits of its own
	if (schema.length === 2) return described(schema[0]);
	const [kind, , name] = schema;
	switch (kind) {
		case 0:
			return described(schema[4]);
		case 1:
			return [described(schema[4])];
		case 2:
			return { "*": described(schema[5]) };
		case 3:
			return Object.fromEntries(schema[4].map((member, i) => [member + (i < schema[6] ? "!" : ""), described(schema[5][i])]));
		case 4:
			return name;
		default:
			throw new Error(`${name} is of the unknown kind ${kind}`);
	}
}

const operations = {};
for (const client of clients) {
	for (const schema of Object.values(from(client)))
		if (Array.isArray(schema) && schema[0] === 9) operations[schema[2]] = described(schema[4]);
}
const source = clients.map((client) => `${client} ${from(client + "/package.json").version}`).join(", ");
const lines = Object.keys(operations).sort().map((name) => `"${name}": ${JSON.stringify(operations[name])}`);
console.log(`{"source": ${JSON.stringify(source)},\n"operations": {\n${lines.join(",\n")}\n}}`);
