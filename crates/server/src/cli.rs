//! The command line.

use backstory_protocol::Role;
use clap::{Parser, Subcommand, ValueEnum};

use crate::config;

/// The team server of backstory: shared memories in PostgreSQL.
#[derive(Debug, Parser)]
#[command(name = "backstory-server", version, after_help = config::variables())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve requests until the process is told to stop
    Serve,
    /// Bring the schema of the database up to date
    Migrate,
    /// Print a code with which someone joins a team
    Invite(Invite),
    /// List and manage accounts, devices, teams and projects
    #[command(subcommand)]
    Admin(Admin),
    /// Erase the bytes of deleted records now, instead of at night
    Purge,
    /// Make all clients start over: run it once after the database was restored from a backup
    RotateEpoch,
    /// Check the configuration and the database
    Doctor,
}

/// Options of `invite`.
#[derive(Debug, clap::Args)]
pub(crate) struct Invite {
    /// The team; created if there is none with this name
    #[arg(long, required_unless_present = "account", conflicts_with = "account")]
    pub(crate) team: Option<String>,
    /// The role in the team
    #[arg(long, value_enum, default_value_t = RoleName::Writer)]
    pub(crate) role: RoleName,
    /// The account may also manage devices of others
    #[arg(long)]
    pub(crate) admin: bool,
    /// Add a device to this account instead, by its number
    #[arg(long)]
    pub(crate) account: Option<i64>,
    /// How many people may use the code
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=1000))]
    pub(crate) uses: i32,
    /// Days until the code expires
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(i32).range(1..=365))]
    pub(crate) days: i32,
}

/// Roles in a team.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RoleName {
    /// Pulls and searches
    Reader,
    /// Also shares own memories
    Writer,
    /// Also deletes any record and sets policies
    Maintainer,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Reader => Self::Reader,
            RoleName::Writer => Self::Writer,
            RoleName::Maintainer => Self::Maintainer,
        }
    }
}

/// Sharing policies of a project.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PolicyName {
    /// Nothing may be shared
    Off,
    /// Only what a person marks
    Manual,
    /// Memories are proposed, and shared after approval
    Review,
    /// Memories may be shared by themselves
    Auto,
}

/// Management of people and projects.
#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// List accounts with their devices and teams, and projects
    List,
    /// Give an account a role in a team
    Role {
        /// Number of the account
        account: i64,
        /// Name of the team
        team: String,
        /// The role
        #[arg(value_enum)]
        role: RoleName,
    },
    /// Remove an account: its tokens stop working and its clients delete their copies
    Remove {
        /// Number of the account
        account: i64,
        /// Also delete everything that the account has shared; otherwise it stays, under "former member"
        #[arg(long)]
        forget: bool,
    },
    /// Revoke a device
    Revoke {
        /// Id of the device
        device: String,
    },
    /// Change a project
    Project {
        /// Number of the project
        project: i32,
        /// The loosest mode of sharing that is permitted
        #[arg(long, value_enum)]
        policy: Option<PolicyName>,
        /// A new name
        #[arg(long)]
        name: Option<String>,
        /// A further key: after a rename, for a fork, for an SSH alias
        #[arg(long)]
        alias: Option<String>,
    },
}
